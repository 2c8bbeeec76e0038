# python: >=3.11
# A method stands two levels deep, so that columns 8 and 16 are two levels apart.
class Span:
    def can_merge(self, other):
        can, message = self.compare(other)
        if can is True:
            if self.pitches != other.pitches:
                message = other.first()
                can = False
        return can, message


# What leaves a handler has the place of what it leaves, and tells no column.
def load(bot, trigger):
    name = trigger.group(2)
    if not name:
        return
    try:
        bot.load(name)
    except Exception as error:
        bot.reply(error)
    else:
        bot.say(name)
