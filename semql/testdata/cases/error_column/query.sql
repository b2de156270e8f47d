SELECT student.salary FROM student
