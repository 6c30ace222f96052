/** A card as its owner knows it: "Visa …1111". */
export function cardName(brand: string, last4: string): string {
  return `${brand.charAt(0).toUpperCase()}${brand.slice(1)} …${last4}`;
}
