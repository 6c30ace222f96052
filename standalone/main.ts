// `npm start`. The door only: plain JavaScript without a single import, and no "type" in the package.json
// beside it, because then even a Node that can't read TypeScript runs it and says so, in one line.
{
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) {
    // Compiling takes most of a start: 1.5 s of modules become 0.5 s. Not the default folder under /tmp,
    // where another user could lay code for us.
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
