"""Pays an order. A charge without an answer may have arrived all the same: it looks before it tries again."""

from __future__ import annotations

import anyio
from shop import ToolError, open_shop


async def main() -> None:
    async with open_shop() as shop:
        price = await shop.call("get_price")
        while not await shop.call("list_charges"):
            try:
                await shop.call("charge", amount=price)
            except ToolError as error:
                print(f"no answer: {error}")


anyio.run(main)
