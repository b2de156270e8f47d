SELECT name FROM student WHERE school_year = 'x' AND age > 20 AND name = 'b' AND name = 'a'
