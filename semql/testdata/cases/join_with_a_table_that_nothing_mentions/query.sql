SELECT s.name FROM student s JOIN takes k ON s.stu_id = k.student
