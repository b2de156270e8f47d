SELECT count(*) FROM student GROUP BY age ORDER BY age
