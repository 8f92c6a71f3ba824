"""Every call of a client library: client.py MODULE ENDPOINT KEY COUNT."""

import importlib
import sys

module, endpoint, key, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
analytics = importlib.import_module(module)
analytics.write_key = key
# A module has no setters: the second name is the one that RudderStack's library documents.
analytics.host = endpoint
analytics.dataPlaneUrl = endpoint

for n in range(1, count + 1):
    user = f"u_{n}"
    numbered = {"n": n}
    call = n % 6
    if call == 0:
        analytics.identify(user, numbered)
    elif call == 1:
        analytics.track(user, "Order Completed", numbered)
    elif call == 2:
        analytics.page(user, "Docs", "Home", numbered)
    elif call == 3:
        analytics.screen(user, "Docs", "Main", numbered)
    elif call == 4:
        analytics.group(user, "acme", numbered)
    else:
        analytics.alias("before", user)
    if n == count // 2:
        analytics.flush()
analytics.shutdown()
