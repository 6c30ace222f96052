// `npm start`. This file only starts the program: plain JavaScript without imports, and no "type" in the
// package.json beside it, so that even a Node that can't read TypeScript can run it and print a one-line
// error. As TypeScript it would load Node's compiler for it, which stays: 16 MB. The other files come from the cache.
{
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) {
    // Compiling takes most of the start: 1.5 s of loading modules becomes 0.5 s. Not the default folder under
    // /tmp, where another user could plant code.
    process
      .getBuiltinModule('node:module')
      .enableCompileCache(`${__dirname}/../node_modules/.cache/compiled`);
    import('./src/main.ts');
  } else {
    console.error(
      `posthorn: needs Node.js 22.18 or newer, this is ${process.versions.node}: use npm start, which brings its own on Linux`,
    );
    process.exitCode = 1;
  }
}
