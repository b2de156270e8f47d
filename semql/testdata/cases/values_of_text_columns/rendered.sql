SELECT name FROM student WHERE name = 'O''Hara' OR school_year = '2010' OR school_year = '07'
