SELECT "date" FROM "order"
