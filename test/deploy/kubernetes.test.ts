import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { loadConfig } from '@posthorn/core/platform/config.ts';
import { shutdownTimes } from '@posthorn/core/platform/process/shutdown.ts';
import { projectRoot } from '@posthorn/test/support/process.ts';
import { parse } from 'yaml';
import { roleEnvironments } from './environments.ts';
import { type Document, kubernetesFiles, readDeployed, readEnvFile, readKubernetes } from './files.ts';

const resources = readKubernetes();
const ofKind = (kind: string): Document[] => resources.filter((resource) => resource.kind === kind);
const named = (kind: string, name: string): Document =>
  ofKind(kind).find(({ metadata }) => metadata.name === name);
const deployments = ofKind('Deployment');
const podSpecs: Document[] = [...deployments, ...ofKind('Job')].map(({ spec }) => spec.template.spec);

function fits(selector: Record<string, string>, labels: Record<string, string>): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}

/** The deployments whose pods a selector chooses. */
const chosenBy = (selector: Record<string, string>) =>
  deployments.filter(({ spec }) => fits(selector, spec.template.metadata.labels));

describe('deploy/kubernetes', () => {
  it('has every file in its kustomization, and every name once', () => {
    const { resources: listed } = parse(readDeployed('kubernetes/kustomization.yaml'));
    assert.deepEqual([...listed].sort(), kubernetesFiles());
    const names = resources.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    assert.equal(new Set(names).size, names.length);
  });

  it('runs each role that a cluster needs, by the image that the kustomization names', () => {
    const roles = podSpecs.map(({ containers }) => containers[0].args.join(' ')).sort();
    assert.deepEqual(roles, ['billing', 'messaging', 'migrate', 'worker']);
    const { images } = parse(readDeployed('kubernetes/kustomization.yaml'));
    for (const { containers } of podSpecs) assert.equal(containers[0].image, images[0].name);
  });

  it('refers to settings, secrets and accounts that are there, and holds no Secret itself', () => {
    assert.deepEqual(ofKind('Secret'), []);
    const secretKeys = readEnvFile('kubernetes/secret.example.env');
    for (const { containers, serviceAccountName, automountServiceAccountToken } of podSpecs) {
      if (serviceAccountName) assert.ok(named('ServiceAccount', serviceAccountName));
      else assert.equal(automountServiceAccountToken, false);
      for (const { configMapRef, secretRef } of containers[0].envFrom ?? []) {
        if (configMapRef) assert.ok(named('ConfigMap', configMapRef.name));
        if (secretRef) assert.equal(secretRef.name, 'posthorn');
      }
      for (const { valueFrom } of containers[0].env)
        if (valueFrom) assert.ok(valueFrom.secretKeyRef.key in secretKeys);
    }
  });

  it('selects with each Deployment, Service, budget and spread the pods of one role', () => {
    const selectors = [
      ...deployments.map(({ spec }) => spec.selector.matchLabels),
      ...deployments.map(
        ({ spec }) => spec.template.spec.topologySpreadConstraints[0].labelSelector.matchLabels,
      ),
      ...ofKind('Service').map(({ spec }) => spec.selector),
      ...ofKind('PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels),
    ];
    assert.equal(selectors.length, 3 + 3 + 2 + 3);
    for (const selector of selectors) assert.equal(chosenBy(selector).length, 1, JSON.stringify(selector));
  });

  it('has a disruption budget for each role, and more than one pod of each', () => {
    for (const { metadata, spec } of deployments) {
      assert.equal(named('PodDisruptionBudget', metadata.name).spec.maxUnavailable, 1);
      const scaled = named('HorizontalPodAutoscaler', metadata.name);
      // A number in both places would undo the autoscaler's decision at each apply.
      assert.equal(spec.replicas === undefined, scaled !== undefined, metadata.name);
      assert.ok((scaled?.spec.minReplicas ?? spec.replicas) >= 2, metadata.name);
    }
  });

  it('scales by metrics that the roles have', () => {
    const source = globSync('worker/**/*.ts', {
      cwd: projectRoot,
      exclude: (name) => name === 'node_modules',
    })
      .map((file) => readFileSync(path.join(projectRoot, file), 'utf8'))
      .join('\n');
    for (const { spec } of ofKind('HorizontalPodAutoscaler')) {
      assert.ok(named(spec.scaleTargetRef.kind, spec.scaleTargetRef.name));
      for (const { pods } of spec.metrics) if (pods) assert.ok(source.includes(`'${pods.metric.name}'`));
    }
  });

  it('asks /health whether a process lives and /ready whether it may serve, on the port on which it listens', () => {
    for (const { spec } of deployments) {
      const [container] = spec.template.spec.containers;
      assert.equal(container.livenessProbe.httpGet.path, '/health');
      assert.equal(container.startupProbe.httpGet.path, '/health');
      assert.equal(container.readinessProbe.httpGet.path, '/ready');
      const [port] = container.ports;
      for (const probe of ['livenessProbe', 'startupProbe', 'readinessProbe'])
        assert.equal(container[probe].httpGet.port, port.name);
      const setting = { messaging: 'PORT', billing: 'BILLING_PORT', worker: 'WORKER_PORT' }[
        container.name as string
      ];
      assert.deepEqual(container.env, [{ name: setting, value: String(port.containerPort) }]);
    }
  });

  it('leads the host names of the settings to the services', () => {
    const { data } = named('ConfigMap', 'posthorn');
    const [{ spec }] = ofKind('Ingress');
    const hosts = [data.PUBLIC_URL, data.BILLING_PUBLIC_URL].map((url) => new URL(url).hostname);
    assert.deepEqual(
      spec.rules.map(({ host }: Document) => host),
      hosts,
    );
    assert.deepEqual(spec.tls[0].hosts, hosts);
    for (const { http } of spec.rules) assert.ok(named('Service', http.paths[0].backend.service.name));
    const { hostname, port } = new URL(data.BILLING_INTERNAL_URL);
    assert.equal(named('Service', hostname).spec.ports[0].port, Number(port));
  });

  it('kills a pod no sooner than its shutdown is over', () => {
    for (const { where, env } of roleEnvironments()) {
      const [, name] = /^kubernetes: (.*)$/.exec(where) ?? [];
      const deployment = name && named('Deployment', name);
      if (!deployment) continue;
      const { delayMs = 0, graceMs } = shutdownTimes(loadConfig(env), { isBalanced: true });
      const { terminationGracePeriodSeconds } = deployment.spec.template.spec;
      assert.ok(terminationGracePeriodSeconds * 1_000 > delayMs + graceMs, name);
    }
  });

  it('gives no pod a right, a root or a disk to write to besides its own', () => {
    for (const { containers, securityContext, volumes = [] } of podSpecs) {
      assert.equal(securityContext.runAsNonRoot, true);
      assert.equal(securityContext.seccompProfile.type, 'RuntimeDefault');
      const own = containers[0].securityContext;
      assert.deepEqual(own.capabilities.drop, ['ALL']);
      assert.equal(own.readOnlyRootFilesystem, true);
      assert.equal(own.allowPrivilegeEscalation, false);
      for (const volume of volumes) assert.ok(volume.emptyDir, volume.name);
      const mounted = (containers[0].volumeMounts ?? []).map(({ name }: Document) => name);
      assert.deepEqual(
        mounted,
        volumes.map(({ name }: Document) => name),
      );
    }
  });
});
