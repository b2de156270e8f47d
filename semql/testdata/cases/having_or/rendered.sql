SELECT name FROM student GROUP BY name HAVING count(*) > 2 OR avg(age) < 30
