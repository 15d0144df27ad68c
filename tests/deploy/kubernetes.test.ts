import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { HTTPRoute, type IHTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1';
import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1';
import { type INetworkPolicy, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { type IPodDisruptionBudget, PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { type ISecret, type IService, Secret, Service } from 'kubernetes-models/v1';
import { parseAllDocuments } from 'yaml';
import { SETTINGS } from '../../src/config/settings.ts';
import { atEnd } from '../../testing/holdall.ts';
import { disk } from '../contract/backend.ts';
import { send } from '../http/client.ts';
import { startService } from '../http/service.ts';
import { assertSettings, LONGEST_STOP } from './settings.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

type Manifest = IDeployment | IService | IPodDisruptionBudget | INetworkPolicy | IHTTPRoute | ISecret;

/** The types of each kind, and the validator for the schema that Kubernetes publishes. */
const KINDS = {
  Deployment: ['kubernetes-models/apps/v1', Deployment],
  Service: ['kubernetes-models/v1', Service],
  Secret: ['kubernetes-models/v1', Secret],
  PodDisruptionBudget: ['kubernetes-models/policy/v1', PodDisruptionBudget],
  NetworkPolicy: ['kubernetes-models/networking.k8s.io/v1', NetworkPolicy],
  HTTPRoute: ['@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1', HTTPRoute],
} as const;

describe('The Kubernetes manifests', () => {
  const manifests: Manifest[] = [];
  before(async () => {
    for (const file of ['holdall.yaml', 'secrets.example.yaml']) {
      const documents = parseAllDocuments(await readFile(join(ROOT, 'deploy/kubernetes', file), 'utf8'), {
        strict: true,
      });
      for (const document of documents) {
        assert.deepEqual(document.errors, []);
        manifests.push(document.toJS());
      }
    }
  });

  const only = <Kind extends Manifest['kind']>(kind: Kind) => {
    const found = manifests.filter((manifest) => manifest.kind === kind);
    assert.equal(found.length, 1, kind);
    return found[0] as Extract<Manifest, { kind: Kind }>;
  };

  it('match the official Kubernetes schemas', () => {
    for (const manifest of manifests) {
      const Kind = KINDS[manifest.kind][1] as new (fields: Manifest) => { validate(): void };
      new Kind(manifest).validate();
    }
  });

  // The schemas allow unknown fields, such as mistyped ones. Types don't.
  it('contain no unknown fields', async (t) => {
    const cache = join(ROOT, 'node_modules/.cache');
    await mkdir(cache, { recursive: true });
    const folder = await mkdtemp(join(cache, 'manifests-'));
    atEnd(t, () => rm(folder, { recursive: true, force: true }));
    const lines = manifests.map(
      (manifest, index) =>
        `export const of${index}: import('${KINDS[manifest.kind][0]}').I${manifest.kind} = ${JSON.stringify(manifest, null, 1)};`,
    );
    await writeFile(join(folder, 'manifests.ts'), lines.join('\n'));
    const options = '--ignoreConfig --noEmit --strict --module nodenext --target esnext --skipLibCheck';
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run(process.execPath, [tsc, ...options.split(' '), join(folder, 'manifests.ts')]).catch(
      (failure: { stdout: string }) => failure,
    );
    assert.equal(stdout, '');
  });

  it('set only existing settings, each once', () => {
    const [container] = only('Deployment').spec?.template.spec?.containers ?? [];
    const settings = manifests.filter((manifest) => manifest.kind === 'Secret')[0];
    const names = [...(container?.env ?? []).map(({ name }) => name), ...Object.keys(settings?.stringData ?? {})];
    assertSettings(names);
    assert.equal(new Set(names).size, names.length);
    const reference = container?.envFrom?.[0]?.secretRef?.name;
    assert.equal(reference, settings?.metadata?.name);
  });

  it('probe existing endpoints and forward to the port of Holdall', async () => {
    const [container] = only('Deployment').spec?.template.spec?.containers ?? [];
    assert.deepEqual(container?.ports, [{ name: 'http', containerPort: Number(SETTINGS.PORT.defaultText) }]);
    const service = await startService(disk);
    try {
      for (const probe of [container?.startupProbe, container?.livenessProbe, container?.readinessProbe]) {
        assert.equal(probe?.httpGet?.port, 'http');
        assert.equal((await send(service.port, probe?.httpGet?.path ?? '')).status, 200);
      }
    } finally {
      await service.stop();
    }
    const [port] = only('Service').spec?.ports ?? [];
    assert.equal(port?.targetPort, 'http');
    const [rule] = only('HTTPRoute').spec.rules ?? [];
    assert.deepEqual(rule?.backendRefs, [{ name: only('Service').metadata?.name, port: port?.port }]);
  });

  it('allow a graceful shutdown and never stop all replicas at once', () => {
    const { spec } = only('Deployment');
    const pod = spec?.template.spec;
    const wait = pod?.containers[0]?.lifecycle?.preStop?.sleep?.seconds ?? 0;
    assert.ok(wait > 0 && (pod?.terminationGracePeriodSeconds ?? 0) >= wait + LONGEST_STOP);
    assert.ok(Number(only('PodDisruptionBudget').spec?.minAvailable) < (spec?.replicas ?? 0));
    const labels = spec?.template.metadata?.labels;
    assert.deepEqual(only('Service').spec?.selector, labels);
    assert.deepEqual(only('PodDisruptionBudget').spec?.selector?.matchLabels, labels);
  });

  it('allow ingress only from the gateway, and egress only to required services', () => {
    const policy = only('NetworkPolicy').spec;
    assert.deepEqual(policy?.podSelector?.matchLabels, only('Deployment').spec?.template.metadata?.labels);
    assert.deepEqual(policy?.policyTypes, ['Ingress', 'Egress']);
    const [parent] = only('HTTPRoute').spec.parentRefs ?? [];
    assert.deepEqual(policy?.ingress?.[0]?.from?.[0]?.namespaceSelector?.matchLabels, {
      'kubernetes.io/metadata.name': parent?.namespace,
    });
    assert.deepEqual(policy?.ingress?.[0]?.ports, [{ port: 'http' }]);
    const egress = policy?.egress ?? [];
    for (const { to } of egress) assert.ok(to && to.length > 0);
    const secrets = manifests.find((manifest): manifest is ISecret => manifest.kind === 'Secret')?.stringData;
    for (const setting of ['REDIS_URL', 'DATABASE_URL']) {
      const { hostname, port } = new URL(secrets?.[setting] ?? '');
      const rule = egress.find(({ ports }) => ports?.some((each) => String(each.port) === port));
      assert.deepEqual(rule?.to?.[0]?.podSelector?.matchLabels, { 'app.kubernetes.io/name': hostname }, setting);
    }
  });

  it('meet the "restricted" Pod Security Standard', () => {
    // https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
    const pod = only('Deployment').spec?.template.spec;
    assert.equal(pod?.securityContext?.runAsNonRoot, true);
    assert.equal(pod?.securityContext?.seccompProfile?.type, 'RuntimeDefault');
    for (const { securityContext } of pod?.containers ?? []) {
      assert.equal(securityContext?.allowPrivilegeEscalation, false);
      assert.deepEqual(securityContext?.capabilities, { drop: ['ALL'] });
      assert.equal(securityContext?.readOnlyRootFilesystem, true);
    }
    for (const volume of pod?.volumes ?? []) assert.ok(volume.secret ?? volume.emptyDir, volume.name);
  });
});
