SELECT t.name, count(*) FROM teacher t JOIN student s ON t.id = s.advisor JOIN takes k ON k.student = s.stu_id GROUP BY t.name
