SELECT name FROM student GROUP BY name ORDER BY count(*) DESC LIMIT 1
