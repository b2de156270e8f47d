SELECT count(*) FROM teacher t JOIN student s ON s.advisor = t.id WHERE t.name = 'x'
