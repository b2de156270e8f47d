SELECT name FROM student WHERE age IN (18, 19) AND name NOT IN ('A', 'B')
