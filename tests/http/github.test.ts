import { github, shareWithinFile } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { wireSuite } from './stores/wire.ts';

export const needs: readonly Need[] = ['git'];

wireSuite(shareWithinFile(github));
