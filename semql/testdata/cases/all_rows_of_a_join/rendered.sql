SELECT * FROM student AS T1 JOIN teacher AS T2 ON T1.advisor = T2.id
