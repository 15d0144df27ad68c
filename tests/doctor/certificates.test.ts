import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it, type TestContext } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { diagnose } from './diagnosis.ts';

/** The key of both certificates, which are for 127.0.0.1 and valid at no time of this test. */
const KEY = `
-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIBLSgknlCu9DmWVQzK7RPvnxdKvFts4ZTXAgj0Q52w4poAoGCCqGSM49
AwEHoUQDQgAEAeCCQ17cXATE50k28QpyxCbwOIAboXOje9oI3AZvCN+p2WS7dnKt
0e4rlw5hsd8zB8YYMHnFsKUDTF7pyZ3WBQ==
-----END EC PRIVATE KEY-----
`;

/** Valid on the first of January 2020 only. */
const EXPIRED = `
-----BEGIN CERTIFICATE-----
MIIBVjCB/aADAgECAgEBMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCTEyNy4wLjAu
MTAeFw0yMDAxMDEwMDAwMDBaFw0yMDAxMDIwMDAwMDBaMBQxEjAQBgNVBAMMCTEy
Ny4wLjAuMTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABAHggkNe3FwExOdJNvEK
csQm8DiAG6Fzo3vaCNwGbwjfqdlku3ZyrdHuK5cOYbHfMwfGGDB5xbClA0xe6cmd
1gWjQDA+MAwGA1UdEwQFMAMBAf8wDwYDVR0RBAgwBocEfwAAATAdBgNVHQ4EFgQU
nUsLBN3zB5PubIuTXogtFqhOP1swCgYIKoZIzj0EAwIDSAAwRQIgcCjT12gvLbMc
2IkI0mroIXA/TuKRHrHW3m6pCbkMjQ8CIQC0z1Dr1eJ8pGBzJ/P3rNJrK8CwVj7J
40yFqx6uJ7TVgw==
-----END CERTIFICATE-----
`;

/** Valid from the year 2200. */
const NOT_YET_VALID = `
-----BEGIN CERTIFICATE-----
MIIBXDCCAQGgAwIBAgIBAjAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAkxMjcuMC4w
LjEwIhgPMjIwMDAxMDEwMDAwMDBaGA8yMjEwMDEwMjAwMDAwMFowFDESMBAGA1UE
AwwJMTI3LjAuMC4xMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEAeCCQ17cXATE
50k28QpyxCbwOIAboXOje9oI3AZvCN+p2WS7dnKt0e4rlw5hsd8zB8YYMHnFsKUD
TF7pyZ3WBaNAMD4wDAYDVR0TBAUwAwEB/zAPBgNVHREECDAGhwR/AAABMB0GA1Ud
DgQWBBSdSwsE3fMHk+5si5NeiC0WqE4/WzAKBggqhkjOPQQDAgNJADBGAiEA62FV
/HcLkif1o1YGDo1b0qWsJJiZ3Mll5m7UrUreme8CIQCvz9X4Q+omOanhLe3Rn/+g
p2QPCFgDmnUd9+hvxvDJNg==
-----END CERTIFICATE-----
`;

/** Starts an HTTPS server with a certificate. Returns its URL. */
async function startServer(t: TestContext, cert: string): Promise<string> {
  const server = createServer({ key: KEY, cert }, (_request, response) => response.end()).listen(0, '127.0.0.1');
  atEnd(t, () => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('holdall doctor with an HTTPS server whose certificate is trusted, but', () => {
  const trusted = getCACertificates('default');
  before(() => setDefaultCACertificates([...trusted, EXPIRED, NOT_YET_VALID]));
  after(() => setDefaultCACertificates(trusted));

  const SET_CLOCK = 'Set the clock of this machine: timedatectl set-ntp true';
  const renew = (host: string) =>
    `Renew the certificate of ${host}, and find out why automatic renewal failed. If the certificate is current, set the clock of this machine: timedatectl set-ntp true`;
  for (const { state, certificate, found, adviceFor } of [
    { state: 'has expired', certificate: EXPIRED, found: /expired certificate \(CERT_HAS_EXPIRED\)/, adviceFor: renew },
    {
      state: 'is not valid yet',
      certificate: NOT_YET_VALID,
      found: /not valid yet \(CERT_NOT_YET_VALID\)/,
      adviceFor: () => SET_CLOCK,
    },
  ]) {
    it(`${state}, explains that for a bucket, GitHub and the public URL`, async (t) => {
      const url = await startServer(t, certificate);
      const STATE_DIR = await temporaryFolder(t);
      const bucket = {
        STORAGE_TYPE: 's3',
        S3_BUCKET: 'bucket',
        S3_ENDPOINT: url,
        S3_ACCESS_KEY_ID: 'id',
        S3_SECRET_ACCESS_KEY: 'secret',
      };
      const repository = {
        STORAGE_TYPE: 'github',
        GITHUB_OWNER: 'owner',
        GITHUB_REPO: 'name',
        GITHUB_TOKEN: 'token',
        GITHUB_API_URL: url,
      };
      for (const settings of [
        { ...bucket, STATE_DIR },
        { ...repository, STATE_DIR },
      ]) {
        const { of } = await diagnose(settings);
        assert.match(of('store-open').found, found);
        assert.equal(of('store-open').advice, adviceFor('the server'));
      }
      const { of } = await diagnose({ DISK_ROOT: await temporaryFolder(t) }, '--url', url);
      assert.match(of('url-live').found, found);
      assert.equal(of('url-live').advice, adviceFor(new URL(url).host));
    });
  }
});
