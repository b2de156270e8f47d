SELECT name FROM teacher WHERE salary > (SELECT avg(T1.age) FROM student AS T1 JOIN teacher AS T2 ON T1.advisor = T2.id WHERE T1.advisor = T2.id)
