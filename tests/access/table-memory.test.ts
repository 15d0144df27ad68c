import { memory } from '../contract/backend.ts';
import { AUTH_METHODS } from './clients.ts';
import { accessTable } from './table.ts';

// A session gets every request in every situation, because the grants don't depend on the authentication method.
// tests/long/access-s3.test.ts tests the other methods so too.
accessTable(memory, { thorough: ['a session'], brief: AUTH_METHODS.filter((method) => method !== 'a session') });
