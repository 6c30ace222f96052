/** The 200 of a paged list: the items, page and limit. */
export function paged<Found extends object>(
  { page, limit }: { page: number; limit: number },
  found: Found,
): { status: 200; body: Found & { page: number; limit: number } } {
  return { status: 200, body: { ...found, page, limit } };
}
