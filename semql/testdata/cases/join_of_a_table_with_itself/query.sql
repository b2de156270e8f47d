SELECT a.name FROM student a JOIN student b ON a.advisor = b.advisor WHERE b.name = 'x'
