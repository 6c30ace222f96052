/** The 200 of a list by pages: what was found, and which page of it this is. */
export function paged<Found extends object>(
  { page, limit }: { page: number; limit: number },
  found: Found,
): { status: 200; body: Found & { page: number; limit: number } } {
  return { status: 200, body: { ...found, page, limit } };
}
