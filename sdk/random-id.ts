/** A UUID. `crypto.randomUUID` is missing on pages that are not served over https; random bytes are not. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  // Puts the version and the variant in the place of two digits (RFC 9562 4.1).
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})/, '$1-$2-4$3-8$4-');
}
