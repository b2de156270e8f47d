SELECT T1.name, count(*) FROM teacher AS T1 JOIN student AS T2 ON T1.id = T2.advisor GROUP BY T1.id
