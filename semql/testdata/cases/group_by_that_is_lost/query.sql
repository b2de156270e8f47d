SELECT name FROM student GROUP BY name
