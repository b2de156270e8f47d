SELECT name FROM student WHERE school_year = 2010 OR school_year = '07' OR name = 'O''Hara'
