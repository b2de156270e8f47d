SELECT age, count(*) FROM student GROUP BY age
