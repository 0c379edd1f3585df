"""How the JVMs of tests are started: they live for seconds, so none gets to use what the second compiler makes.

On two cores the tests would wait for it: those of Spark's batches took 178 s instead of 290 beside other work.
"""

from typing import Final

SHORT_LIVED: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
