//! Names that not every server has: found by asking MariaDB 10.11 and MySQL 9.7.

/// Functions and words of [`crate::calls_table`] that are no function of their own to servers of
/// one kind at least: there a stored function may have the name, and is called by it.
pub(crate) const OF_ONE_KIND: &str = "\
    ADD_MONTHS AGAINST ANY_VALUE ASYMMETRIC_ENCRYPT ASYMMETRIC_SIGN ASYMMETRIC_VERIFY \
    BINLOG_GTID_POS BIN_TO_UUID CAN_ACCESS_COLUMN CAN_ACCESS_DATABASE CAN_ACCESS_TABLE \
    CAN_ACCESS_USER CAN_ACCESS_VIEW CHR COLUMNS COLUMN_ADD COLUMN_CHECK COLUMN_CREATE \
    COLUMN_DELETE COLUMN_EXISTS COLUMN_GET COLUMN_JSON COLUMN_LIST CONCAT_OPERATOR_ORACLE CRC32C \
    CREATE_ASYMMETRIC_PRIV_KEY CREATE_ASYMMETRIC_PUB_KEY CREATE_DIGEST CURRVAL DECODE \
    DECODE_HISTOGRAM DECODE_ORACLE DES_DECRYPT DES_ENCRYPT DISTANCE ENCODE ENCRYPT ESCAPE ETAG \
    FORMAT_BYTES FORMAT_PICO_TIME FROM_VECTOR GET_DD_COLUMN_PRIVILEGES GET_DD_CREATE_OPTIONS \
    GET_DD_INDEX_SUB_PART_LENGTH GROUPING GTID_SUBSET GTID_SUBTRACT ICU_VERSION \
    INTERNAL_AUTO_INCREMENT INTERNAL_AVG_ROW_LENGTH INTERNAL_CHECKSUM INTERNAL_CHECK_TIME \
    INTERNAL_DATA_FREE INTERNAL_DATA_LENGTH INTERNAL_DD_CHAR_LENGTH INTERNAL_GET_COMMENT_OR_ERROR \
    INTERNAL_GET_ENABLED_ROLE_JSON INTERNAL_GET_HOSTNAME INTERNAL_GET_USERNAME \
    INTERNAL_GET_VIEW_WARNING_OR_ERROR INTERNAL_INDEX_COLUMN_CARDINALITY INTERNAL_INDEX_LENGTH \
    INTERNAL_IS_ENABLED_ROLE INTERNAL_IS_MANDATORY_ROLE INTERNAL_KEYS_DISABLED \
    INTERNAL_MAX_DATA_LENGTH INTERNAL_TABLE_ROWS INTERNAL_UPDATE_TIME IS_UUID IS_VISIBLE_DD_OBJECT \
    JSON_APPEND JSON_COMPACT JSON_DETAILED JSON_DUALITY_OBJECT JSON_EQUALS JSON_EXISTS JSON_LOOSE \
    JSON_NORMALIZE JSON_QUERY JSON_SCHEMA_VALID JSON_SCHEMA_VALIDATION_REPORT JSON_STORAGE_FREE \
    JSON_STORAGE_SIZE KDF LASTVAL LENGTHB LESS LPAD_ORACLE LTRIM_ORACLE MASTER_GTID_WAIT \
    MBRCOVEREDBY MBRCOVERS MD5 MEDIAN NATURAL_SORT_KEY NESTED NEXTVAL NVL NVL2 OLD_PASSWORD ONLY \
    OVERLAPS PATH PERCENTILE_CONT PERCENTILE_DISC POINT PS_CURRENT_THREAD_ID PS_THREAD_ID RANDOM \
    REGEXP_LIKE REPLACE_ORACLE RETURNS ROLES_GRAPHML RPAD_ORACLE RTRIM_ORACLE SECONDS \
    SERVICE_GET_READ_LOCKS SERVICE_GET_WRITE_LOCKS SERVICE_RELEASE_LOCKS SETVAL SFORMAT SHA SHA1 \
    SOURCE_POS_WAIT STATEMENT_DIGEST STATEMENT_DIGEST_TEXT STRING_TO_VECTOR ST_BUFFER_STRATEGY \
    ST_COLLECT ST_FRECHETDISTANCE ST_GEOHASH ST_HAUSDORFFDISTANCE ST_ISVALID ST_LATFROMGEOHASH \
    ST_LATITUDE ST_LINEINTERPOLATEPOINT ST_LINEINTERPOLATEPOINTS ST_LONGFROMGEOHASH ST_LONGITUDE \
    ST_MAKEENVELOPE ST_POINTATDISTANCE ST_POINTFROMGEOHASH ST_SIMPLIFY ST_SWAPXY ST_TRANSFORM \
    ST_VALIDATE SUBSTR_ORACLE SYS_GUID THAN TO_CHAR TO_VECTOR TRIM_ORACLE UCS2 UNTIL UUID_TO_BIN \
    VALIDATE_PASSWORD_STRENGTH VECTOR_DIM VECTOR_TO_STRING VEC_DISTANCE VEC_DISTANCE_COSINE \
    VEC_DISTANCE_EUCLIDEAN VEC_FROMTEXT VEC_TOTEXT WAIT_FOR_EXECUTED_GTID_SET WSREP_LAST_SEEN_GTID \
    WSREP_LAST_WRITTEN_GTID WSREP_SYNC_WAIT_UPTO_GTID";

/// System variables that a session may set, of servers of either kind.
pub(crate) const SESSION_VARIABLES: &str = "\
    alter_algorithm analyze_max_length analyze_sample_percentage aria_repair_threads \
    aria_sort_buffer_size aria_stats_method auto_increment_increment auto_increment_offset \
    autocommit big_tables binlog_alter_two_phase binlog_annotate_row_events \
    binlog_direct_non_transactional_updates binlog_format binlog_row_image \
    binlog_row_value_options binlog_rows_query_log_events binlog_transaction_compression \
    binlog_transaction_compression_level_zstd block_encryption_mode bulk_insert_buffer_size \
    character_set_client character_set_connection character_set_database character_set_filesystem \
    character_set_results character_set_server check_constraint_checks collation_connection \
    collation_database collation_server column_compression_threshold column_compression_zlib_level \
    column_compression_zlib_strategy column_compression_zlib_wrap completion_type \
    connection_memory_chunk_size connection_memory_limit cte_max_recursion_depth \
    deadlock_search_depth_long deadlock_search_depth_short deadlock_timeout_long \
    deadlock_timeout_short default_collation_for_utf8mb4 default_master_connection \
    default_regex_flags default_storage_engine default_table_encryption default_tmp_storage_engine \
    default_week_format div_precision_increment enable_cascade_triggers \
    enable_secondary_engine_statistics end_markers_in_json enforce_storage_engine \
    eq_range_index_dive_limit error_count expensive_subquery_limit explain_format \
    explain_json_format_version explicit_defaults_for_timestamp \
    external_table_secondary_storage_engine external_table_storage_engine external_user \
    foreign_key_checks generated_random_password_length global_connection_memory_tracking \
    group_concat_max_len group_replication_consistency gtid_domain_id gtid_next gtid_owned \
    gtid_seq_no histogram_generation_max_mem_size histogram_size histogram_type identity \
    idle_readonly_transaction_timeout idle_transaction_timeout idle_write_transaction_timeout \
    immediate_server_version in_predicate_conversion_threshold information_schema_stats_expiry \
    innodb_compression_default innodb_ddl_buffer_size innodb_ddl_threads \
    innodb_default_encryption_key_id innodb_ft_enable_stopword innodb_ft_user_stopword_table \
    innodb_lock_wait_timeout innodb_parallel_read_threads innodb_snapshot_isolation \
    innodb_strict_mode innodb_table_locks innodb_tmpdir insert_id interactive_timeout \
    internal_tmp_mem_storage_engine join_buffer_size join_buffer_space_limit join_cache_level \
    keep_files_on_create last_insert_id lc_messages lc_time_names lock_wait_timeout \
    log_disabled_statements log_queries_not_using_indexes log_slow_admin_statements \
    log_slow_disabled_statements log_slow_filter log_slow_max_warnings \
    log_slow_min_examined_row_limit log_slow_query log_slow_query_time log_slow_rate_limit \
    log_slow_slave_statements log_slow_verbosity log_warnings long_query_time low_priority_updates \
    max_allowed_packet max_delayed_threads max_error_count max_execution_time max_heap_table_size \
    max_insert_delayed_threads max_join_size max_length_for_sort_data max_points_in_geometry \
    max_recursive_iterations max_relay_log_size max_rowid_filter_size max_seeks_for_key \
    max_session_mem_used max_sort_length max_sp_recursion_depth max_statement_time max_tmp_tables \
    max_user_connections min_examined_row_limit mrr_buffer_size myisam_repair_threads \
    myisam_sort_buffer_size myisam_stats_method net_buffer_length net_read_timeout net_retry_count \
    net_write_timeout note_verbosity old old_alter_table old_mode old_passwords \
    optimizer_adjust_secondary_key_costs optimizer_extra_pruning_depth \
    optimizer_join_limit_pref_ratio optimizer_max_sel_arg_weight optimizer_max_sel_args \
    optimizer_max_subgraph_pairs optimizer_prune_level optimizer_search_depth \
    optimizer_selectivity_sampling_limit optimizer_switch optimizer_trace optimizer_trace_features \
    optimizer_trace_limit optimizer_trace_max_mem_size optimizer_trace_offset \
    optimizer_use_condition_selectivity original_commit_timestamp original_server_version \
    parser_max_mem_size preload_buffer_size print_identified_with_as_hex profiling \
    profiling_history_size progress_report_time proxy_user pseudo_replica_mode pseudo_slave_mode \
    pseudo_thread_id query_alloc_block_size query_cache_strip_comments query_cache_type \
    query_cache_wlock_invalidate query_prealloc_size rand_seed1 rand_seed2 range_alloc_block_size \
    range_optimizer_max_mem_size rbr_exec_mode read_buffer_size read_rnd_buffer_size \
    require_row_format restrict_fk_on_non_standard_key resultset_metadata rowid_merge_buff_size \
    secondary_engine_cost_threshold select_into_buffer_size select_into_disk_sync \
    select_into_disk_sync_delay server_id session_track_gtids session_track_schema \
    session_track_state_change session_track_system_variables session_track_transaction_info \
    set_operations_buffer_size show_create_table_skip_secondary_engine show_create_table_verbosity \
    show_gipk_in_create_table_and_information_schema skip_parallel_replication skip_replication \
    slow_query_log sort_buffer_size sql_auto_is_null sql_big_selects sql_buffer_result \
    sql_generate_invisible_primary_key sql_if_exists sql_log_bin sql_log_off sql_mode sql_notes \
    sql_quote_show_create sql_require_primary_key sql_safe_updates sql_select_limit \
    sql_slave_skip_counter sql_warnings standard_compliant_cte statement_id storage_engine \
    system_versioning_alter_history system_versioning_asof system_versioning_insert_history \
    tcp_nodelay terminology_use_previous thread_pool_priority time_zone timestamp \
    tmp_disk_table_size tmp_memory_table_size tmp_table_size transaction_alloc_block_size \
    transaction_allow_batching transaction_isolation transaction_prealloc_size \
    transaction_read_only tx_isolation tx_read_only unique_checks updatable_views_with_limit \
    use_secondary_engine use_stat_tables wait_timeout warning_count windowing_use_high_precision \
    wsrep_causal_reads wsrep_dirty_reads wsrep_gtid_seq_no wsrep_on wsrep_osu_method \
    wsrep_retry_autocommit wsrep_sync_wait wsrep_trx_fragment_size wsrep_trx_fragment_unit \
    xa_detach_on_prepare";
