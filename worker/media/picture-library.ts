/** The library that reads pictures, set up for what strangers send. Loaded with the first picture. */
import sharp from 'sharp';

// Each file is read once, so a cache would only waste memory.
sharp.cache(false);
sharp.concurrency(1);
// The library detects the format from the content, not from our type. Only these: SVG and similar formats can
// refer to other files.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Tiff', 'Heif'].map((format) => `VipsForeignLoad${format}`),
});

export { sharp };
