SELECT age AS years, name FROM student ORDER BY years, 2
