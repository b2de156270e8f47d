SELECT T1.name, count(*) FROM teacher AS T1 JOIN student AS T2 ON T1.id = T2.advisor JOIN takes AS T3 ON T2.stu_id = T3.student GROUP BY T1.name
