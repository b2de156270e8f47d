SELECT upper(name) FROM student
