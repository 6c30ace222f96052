import { parse } from 'yaml';
import { type Document, readDeployed } from './files.ts';

export interface Alert {
  alert: string;
  expr: string;
  annotations: { summary: string; runbook: string };
}

export function readAlerts(): Alert[] {
  return parse(readDeployed('prometheus/alerts.yaml')).groups.flatMap((group: Document) => group.rules);
}

/** The queries of each panel of the dashboard, with Grafana's own variables filled in. */
export function readPanelQueries(): { title: string; expr: string }[] {
  const { panels } = JSON.parse(readDeployed('grafana/posthorn.json'));
  return panels.flatMap(({ title, targets = [] }: Document) =>
    targets.map(({ expr }: Document) => ({ title, expr: expr.replaceAll('$__rate_interval', '5m') })),
  );
}

const NAME = /\b(?:posthorn|http_request|event_stream|nodejs|process)_[a-z0-9_]+/g;

/** The names of all metrics that the alerts and the dashboard query; a histogram has its base name. */
export function figuresAskedFor(): string[] {
  const asked = [...readAlerts(), ...readPanelQueries()].flatMap(({ expr }) => expr.match(NAME) ?? []);
  return [...new Set(asked.map((name) => name.replace(/_seconds_(bucket|count|sum)$/, '_seconds')))].sort();
}
