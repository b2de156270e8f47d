SELECT name FROM student WHERE name = 'b' AND name = 'a' AND age > 20 AND school_year = 'x'
