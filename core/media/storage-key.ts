/** Begins the name of each object of a company in the storage. */
export function objectsOf(companyId: number): string {
  return `${companyId}/`;
}
