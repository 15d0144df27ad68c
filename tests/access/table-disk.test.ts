import { disk } from '../contract/backend.ts';
import { accessTable } from './table.ts';

// The authentication methods and rare situations don't depend on the store. The memory store is tested with all of them.
accessTable(disk, { methods: ['a session'] });
