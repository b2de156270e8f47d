SELECT T1.date FROM "order" AS T1 JOIN team AS T2 ON T1.team_id = T2.id WHERE T2.name = 'x'
