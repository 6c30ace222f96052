/** Writes the modules that replace those of the SDK that import the contract. The console's build uses them too. */
import manifest from '../package.json' with { type: 'json' };
import type { RouteSpec, RouteTable } from '../route-spec.ts';
import { billingRoutes, messagingRoutes } from '../routes.ts';

/** The beginning of most paths, which the table writes as `~`. */
const INSTANCE = '/v1/instances/:instanceId/';

const SIGNS = { GET: '!', POST: '+', PATCH: '*', DELETE: '-', PUT: '=' } as const;

/** The text that replaces `version.ts`. */
export function writeVersion(): string {
  return `export const VERSION: string = '${manifest.version}';\n`;
}

/**
 * The text that replaces `routes.ts`: one line a route, with a sign for each unusual property. Written as objects, the
 * tables would be most of the package.
 */
export function writeRoutes(): string {
  return [
    "import type { RouteSpec, RouteTable } from './route-spec.ts';",
    `function read(text: string): RouteTable {
  return Object.fromEntries(
    text.split('\\n').map((line) => {
      const [, name, sign, marks, path] = /^([\\w.]+)(\\W?)(\\w*) (.*)/.exec(line) as unknown as [0, string, string, string, string];
      const method = ['GET', 'POST', 'PATCH', 'DELETE', 'PUT']['!+*-='.indexOf(sign)];
      const has = (mark: string) => marks.includes(mark);
      return [
        name,
        {
          method,
          path: path.replace('~', '${INSTANCE}'),
          keyed: has('k'),
          body: has('m') ? 'media' : has('j') ? 'json' : 'none',
          answer: has('t') ? 'text' : has('r') ? 'response' : has('0') ? 'none' : 'json',
        } as RouteSpec,
      ];
    }),
  );
}`,
    ...Object.entries({ messagingRoutes, billingRoutes }).map(
      ([name, table]) =>
        `export const ${name}: RouteTable = /* @__PURE__ */ read(\`${linesOf(table).join('\n')}\`);`,
    ),
  ].join('\n\n');
}

function linesOf(table: RouteTable): string[] {
  return Object.entries(table).map(
    ([name, route]) => `${name}${signOf(route)} ${route.path.replace(INSTANCE, '~')}`,
  );
}

/** The method and the marks of a route; empty for a GET without marks, as most are. */
function signOf(route: RouteSpec): string {
  const marks = marksOf(route);
  return route.method === 'GET' && marks === '' ? '' : SIGNS[route.method] + marks;
}

function marksOf({ keyed, body, answer }: RouteSpec): string {
  return (
    (keyed ? 'k' : '') +
    { json: 'j', media: 'm', none: '' }[body] +
    { json: '', text: 't', response: 'r', none: '0' }[answer]
  );
}
