/** Stands in a body for media received as bytes, so that the contract can validate the whole body. */
export const PLACEHOLDER = 'data';
