"""Pays an order, with a simpler retry: the same customer is charged twice when the first answer is lost."""

from __future__ import annotations

import anyio
from shop import ToolError, open_shop


async def main() -> None:
    async with open_shop() as shop:
        price = await shop.call("get_price")
        for _ in range(3):
            try:
                await shop.call("charge", amount=price)
                break
            except ToolError as error:
                print(f"no answer: {error}")


anyio.run(main)
