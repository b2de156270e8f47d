SELECT count(*) FROM (SELECT DISTINCT name FROM student)
