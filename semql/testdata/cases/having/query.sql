SELECT name FROM student WHERE age > 18 GROUP BY name HAVING count(*) > 2 AND avg(age) < 30
