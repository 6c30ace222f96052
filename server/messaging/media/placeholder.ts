/** Stands in a body for the media that came as bytes, so that the contract can judge the whole of it. */
export const PLACEHOLDER = 'data';
