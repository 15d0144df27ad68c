// Only it proves every row of the documented costs of requests to object stores and GitHub: each row starts a service on a new
// bucket or repository, some with 5,000 files.
import type { Need } from '../runner/needs.ts';
import { testGitHubCosts } from '../stores/github-cost.ts';
import { testBucketCosts } from '../stores/s3-cost.ts';

export const needs: readonly Need[] = ['bucket', 'git'];

testBucketCosts();
testGitHubCosts();
