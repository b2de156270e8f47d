SELECT date FROM "order"
