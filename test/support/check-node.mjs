// Plain JavaScript: an older Node cannot even read the TypeScript that would report it.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`Posthorn needs Node.js 22.18 or newer; this is ${process.version}.`);
  process.exit(1);
}
