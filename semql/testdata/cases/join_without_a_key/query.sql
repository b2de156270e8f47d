SELECT name, rain FROM teacher JOIN weather
