SELECT salary FROM student
